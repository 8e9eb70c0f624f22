// The script of the status page: every few seconds it fetches the page itself and puts the new <main> in place of
// the old, so what is shown is made in one place only. Opened details stay open, and selected text is left alone. When
// the bridge does not answer, the page says since when, instead of showing old numbers as if they were new.

const REFRESH_MS = 5000;
/** For readers without scripts, whose page reloads. */
export const RELOAD_SECONDS = 15;

export const PAGE_SCRIPT: string = `
'use strict';
let seenAt = new Date();
async function refresh() {
  if (document.hidden || getSelection().type === 'Range') return;
  try {
    const answer = await fetch(location.pathname, { signal: AbortSignal.timeout(${REFRESH_MS - 500}) });
    if (!answer.ok) throw new Error(String(answer.status));
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const open of document.querySelectorAll('details[open][id]'))
      next.getElementById(open.id)?.setAttribute('open', '');
    for (const part of ['main', 'header'])
      document.querySelector(part).replaceWith(next.querySelector(part));
    document.querySelector('link[rel=icon]').replaceWith(next.querySelector('link[rel=icon]'));
    document.title = next.title;
    seenAt = new Date();
    document.body.classList.remove('is-lost');
  } catch {
    document.getElementById('lost-since').textContent = seenAt.toLocaleTimeString();
    document.body.classList.add('is-lost');
  }
}
setInterval(refresh, ${REFRESH_MS});
document.addEventListener('visibilitychange', refresh);
`;

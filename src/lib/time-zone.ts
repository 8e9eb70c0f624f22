// Time zones by name. UTC is known without Intl, whose data cost 8 MB and 20 ms when they are first used.

/** True for the names of UTC. */
export function isUtc(name: string): boolean {
  const upper = name.toUpperCase();
  return upper === 'UTC' || upper === 'ETC/UTC';
}

/** True for a name that Intl knows. */
export function isTimeZone(name: string): boolean {
  if (isUtc(name)) return true;
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

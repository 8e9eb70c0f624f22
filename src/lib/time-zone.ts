// Time zones by name. UTC does not need Intl, whose data cost 8 MB and 20 ms at the first use.

export function isUtc(name: string): boolean {
  const upper = name.toUpperCase();
  return upper === 'UTC' || upper === 'ETC/UTC';
}

export function isTimeZone(name: string): boolean {
  if (isUtc(name)) return true;
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

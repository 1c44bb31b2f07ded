/** How to show text: text of a stranger must not control the terminal, forge a line, or end the word that it is in. */

/** At most this many bytes in UTF-8, whole characters, with an ellipsis at the end if it was cut. */
export function cutText(text: string, bytes: number, ellipsis: string): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const {read} = new TextEncoder().encodeInto(text, new Uint8Array(bytes - Buffer.byteLength(ellipsis)));
  return `${text.slice(0, read)}${ellipsis}`;
}

/** For one line of a terminal. */
export function printable(text: string): string {
  return text.replace(/\p{C}/gu, '\ufffd');
}

/** For a terminal, if the text has lines of its own. */
export function printableLines(text: string): string {
  return text.replace(/[^\P{C}\n]/gu, '\ufffd');
}

/**
 * One word of a POSIX shell, for a command that a person copies from a message.
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02
 */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

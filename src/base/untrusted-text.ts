/** How to show text of a stranger, which must not control the terminal, forge a line, or end the word that it is in. */

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

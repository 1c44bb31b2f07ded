/** Text of strangers for a terminal: nothing in it can control the terminal. Line breaks stay. */
export function printable(text: string): string {
  return text.replace(/[^\P{C}\n]/gu, '\ufffd');
}

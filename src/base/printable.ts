/** A stranger's text for a terminal, in which nothing can control the terminal. Line breaks stay. */
export function printable(text: string): string {
  return text.replace(/[^\P{C}\n]/gu, '\ufffd');
}

/** At most this many bytes in UTF-8, whole characters, with an ellipsis at the end if it was cut. */
export function cutText(text: string, bytes: number, ellipsis: string): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const {read} = new TextEncoder().encodeInto(text, new Uint8Array(bytes - Buffer.byteLength(ellipsis)));
  return `${text.slice(0, read)}${ellipsis}`;
}

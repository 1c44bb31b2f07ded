/** A name of a namespace or a Project, so that nothing else can be part of a path at the API server. */
export function isName(text: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
}

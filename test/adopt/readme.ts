/** The README of a release, as its readers follow it. */

/** The commands in its indented blocks, in order, each on one line. */
export function commandsOf(readme: string): string[] {
  const blocks = readme.match(/(?:^ {4}.*\n)+/gm) ?? [];
  return blocks.flatMap(block => {
    const joined = block.replace(/\\\n +/g, '');
    return [...joined.matchAll(/^ {4}(.+)$/gm)].map(([, command = '']) => command);
  });
}

/** The records that `kubectl describe domain` shows below `Required`. */
export function recordsIn(description: string): {name: string; type: string; value: string}[] {
  const shown = /^ +Label: .+\n +Name: +(\S+)\n +Ttl: .+\n +Type: +(\S+)\n +Value: +(\S+)$/gm;
  return [...description.matchAll(shown)].map(([, name = '', type = '', value = '']) => ({name, type, value}));
}

/** The changes of one version, from CHANGELOG.md (https://keepachangelog.com). */

export interface Changes {
  /** As in the file, without its heading. */
  readonly text: string;
  /** Kind, such as `Added`, → its entries, each on one line. */
  readonly entries: ReadonlyMap<string, readonly string[]>;
}

/** A version without a section of its own takes Unreleased. */
export function changesOf(changelog: string, version: string): Changes {
  const sections = new Map(
    changelog
      .split(/^## /m)
      .slice(1)
      .map(section => {
        const [heading = '', ...rest] = section.split('\n');
        return [heading.replace(/ .*/, ''), rest.join('\n').trim()];
      }),
  );
  const text = sections.get(version) ?? sections.get('Unreleased');
  if (text === undefined) throw new Error(`CHANGELOG.md has neither ${version} nor Unreleased`);
  const entries = text
    .split(/^### /m)
    .slice(1)
    .map(group => {
      const [kind = '', ...rest] = group.split('\n');
      const items = rest.join('\n').split(/^- /m).slice(1);
      return [kind.trim(), items.map(item => item.trim().replace(/\s+/g, ' '))] as const;
    });
  return {text, entries: new Map(entries)};
}

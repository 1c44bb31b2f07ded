/** Tar archives with the same bytes everywhere: sorted, owned by root, without the clock, the umask, or the user. */

export interface Entry {
  /** Relative, without `./` and without a trailing slash. */
  readonly path: string;
  readonly mode: number;
  /** The content of a file. An entry with neither this nor `link` is a folder. */
  readonly content?: Buffer;
  /** Target of a symbolic link. */
  readonly link?: string;
}

const BLOCK = 512;

export function file(path: string, content: Buffer | string, mode = 0o644): Entry {
  return {path, mode, content: Buffer.from(content)};
}

export function symlink(path: string, link: string): Entry {
  return {path, mode: 0o777, link};
}

export function folder(path: string, mode = 0o755): Entry {
  return {path, mode};
}

/** The entries and the folders that contain them, each folder before its content. */
export function withFolders(entries: readonly Entry[]): Entry[] {
  const all = new Map(entries.map(entry => [entry.path, entry]));
  for (const {path} of entries) {
    const parts = path.split('/').slice(0, -1);
    for (let depth = 1; depth <= parts.length; depth++) {
      const parent = parts.slice(0, depth).join('/');
      if (!all.has(parent)) all.set(parent, folder(parent));
    }
  }
  return [...all.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** POSIX ustar. `mtime`: the date of all entries, in seconds since 1970. */
export function writeTar(entries: readonly Entry[], mtime = 0): Buffer {
  const blocks: Buffer[] = [];
  for (const entry of entries) {
    const content = entry.content ?? Buffer.alloc(0);
    blocks.push(header(entry, content.length, mtime), content, Buffer.alloc(-content.length & (BLOCK - 1)));
  }
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function header(entry: Entry, size: number, mtime: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const isFolder = entry.content === undefined && entry.link === undefined;
  const [prefix, name] = split(isFolder ? `${entry.path}/` : entry.path);
  const octal = (value: number, offset: number, length: number) =>
    block.write(value.toString(8).padStart(length - 1, '0'), offset);
  block.write(name, 0);
  octal(entry.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(mtime, 136, 12);
  block.fill(' ', 148, 156);
  block.write(entry.link !== undefined ? '2' : isFolder ? '5' : '0', 156);
  if (Buffer.byteLength(entry.link ?? '') > 100)
    throw new Error(`${entry.path}: the link is too long for a tar header`);
  block.write(entry.link ?? '', 157);
  block.write('ustar\0' + '00', 257);
  block.write(prefix, 345);
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
}

/** A path of more than 100 bytes is divided at a slash. */
function split(path: string): [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= 100) return ['', path];
  const at = path.indexOf('/', path.length - 101);
  if (at <= 0 || at > 155 || at === path.length - 1) throw new Error(`${path}: too long for a tar header`);
  return [path.slice(0, at), path.slice(at + 1)];
}

/** Files and symbolic links of an archive as GNU tar, dpkg, and npm write them. */
export function readTar(archive: Buffer): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  let longName = '';
  for (let at = 0; at + BLOCK <= archive.length && archive[at] !== 0; ) {
    const text = (from: number, length: number) =>
      /^[^\0]*/.exec(archive.toString('utf8', at + from, at + from + length))?.[0] ?? '';
    const size = Number.parseInt(text(124, 12), 8);
    const type = text(156, 1);
    const content = archive.subarray(at + BLOCK, at + BLOCK + size);
    const path = (longName || [text(345, 155), text(0, 100)].filter(Boolean).join('/')).replace(/^\.\//, '');
    longName = type === 'L' ? content.toString().replace(/\0.*$/s, '') : '';
    const mode = Number.parseInt(text(100, 8), 8);
    if (type === '0' || type === '') entries.set(path, {path, mode, content});
    if (type === '2') entries.set(path, symlink(path, text(157, 100)));
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return entries;
}

import {existsSync} from 'node:fs';
import {rename, writeFile} from 'node:fs/promises';
import {delimiter, join} from 'node:path';
import {type Browser, chromium} from 'playwright-core';
import {cacheRoot} from '../../cluster/cache.ts';
import {which} from '../../cluster/children.ts';
import {librariesIn, unpackedPackages} from '../debian-packages.ts';

/** Chromium and a font from this system's packages, unpacked into the cache; without apt, the one on PATH. */
export async function startChromium(log: (line: string) => void = console.error): Promise<Browser> {
  // Root needs no sandbox, and has none. Pages in these tests are our own.
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'];
  const {executablePath, env} = onPath() ?? (await unpacked(log));
  return await chromium.launch({executablePath, args, env: {...(process.env as Record<string, string>), ...env}});
}

interface Program {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

/** First, because Ubuntu's package of this name has no browser in it. */
function onPath(): Program | undefined {
  const executablePath = which('chromium') ?? which('google-chrome');
  return executablePath === undefined ? undefined : {executablePath, env: {}};
}

async function unpacked(log: (line: string) => void): Promise<Program> {
  const [apt, dpkg] = [which('apt-get'), which('dpkg')];
  if (apt === undefined || dpkg === undefined) {
    throw new Error('the tests need Chromium on PATH, and there is no apt-get to fetch it');
  }
  const packages = async () => ['chromium', 'fonts-dejavu-core', 'fontconfig-config'];
  const what = 'Chromium, for the tests of the console';
  const folder = await unpackedPackages({cache: cacheRoot(), name: 'chromium', packages, what, apt, dpkg, log});
  const executablePath = join(folder, 'usr/lib/chromium/chromium');
  if (!existsSync(executablePath)) {
    throw new Error('the tests need Chromium on PATH: the package of this system has none');
  }
  const libraries = (await librariesIn(folder)).split(delimiter);
  // A library of PulseAudio has a folder of its own, which its neighbors know only by the path of an installation.
  const path = libraries.flatMap(each => [each, join(each, 'pulseaudio')]).join(delimiter);
  return {executablePath, env: {LD_LIBRARY_PATH: path, FONTCONFIG_FILE: await fontsIn(folder)}};
}

async function fontsIn(folder: string): Promise<string> {
  const path = join(folder, 'fonts.conf');
  const draft = `${path}.${process.pid}`;
  await writeFile(
    draft,
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${folder}/usr/share/fonts</dir><cachedir>${folder}/font-cache</cachedir></fontconfig>`,
  );
  await rename(draft, path);
  return path;
}

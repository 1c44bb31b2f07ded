import {run, which} from '../children.ts';

/** Program → the Debian package that contains it. The CNI plugins are found by their absolute path. */
const PACKAGES = {
  unshare: 'util-linux',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
  tini: 'tini',
  containerd: 'containerd',
  runc: 'runc',
  '/usr/lib/cni/ptp': 'containernetworking-plugins',
  iptables: 'iptables',
  conntrack: 'conntrack',
  ip: 'iproute2',
  mount: 'mount',
  curl: 'curl',
  dig: 'bind9-dnsutils',
} as const;

type Program = keyof typeof PACKAGES;

/** Programs needed to run a command inside a cluster, and those that the tests run there. */
export const TO_ENTER: readonly Program[] = ['unshare', 'nsenter', 'mount', 'curl', 'dig'];

/** Installs what is missing with apt and logs it, or throws an error that names it. */
export async function ensurePackages(
  log: (line: string) => void,
  programs = Object.keys(PACKAGES) as readonly Program[],
): Promise<void> {
  const missing = missingPackages(programs);
  if (missing.length === 0) return;
  const command = `apt-get install --no-install-recommends --no-remove ${missing.join(' ')}`;
  if (!which('apt-get')) {
    throw new Error(`missing on this machine: ${missing.join(', ')} (names of Debian packages); please install them`);
  }
  log(`installing Debian packages: ${command}`);
  const env = {...process.env, DEBIAN_FRONTEND: 'noninteractive'};
  await run(['apt-get', 'update', '-qq'], {env});
  await run(['apt-get', 'install', '-y', '-qq', '--no-install-recommends', '--no-remove', ...missing], {env});
  const still = missingPackages(programs);
  if (still.length > 0) throw new Error(`still missing after \`${command}\`: ${still.join(', ')}`);
}

function missingPackages(programs: readonly Program[]): string[] {
  const missing = programs.filter(program => !which(program, program.startsWith('/') ? '/' : undefined));
  return [...new Set(missing.map(program => PACKAGES[program]))];
}

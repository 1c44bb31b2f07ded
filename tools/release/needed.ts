import {which} from '../../test/cluster/children.ts';

/** The programs that a release needs besides Go and Node → the packages that contain them, in any distribution. */
export const NEEDED = {git: 'git', 'dpkg-deb': 'dpkg', 'apt-get': 'apt'} as const;

/** Throws an error that says which of these programs are missing. */
export function requirePrograms(programs: readonly (keyof typeof NEEDED)[]): void {
  const missing = programs.filter(program => !which(program));
  if (missing.length === 0) return;
  const packages = missing.map(program => NEEDED[program]).join(' and ');
  throw new Error(`there is no ${missing.join(' and no ')} on PATH: install ${packages}`);
}

import {availableParallelism, freemem} from 'node:os';
import {run} from './children.ts';

const MINIMUM_MINOR = 26;
const NEEDED = `Go 1.${MINIMUM_MINOR} or newer is needed`;

/** CGO is off because the images have no libc. The toolchain is local, so that none is silently downloaded. */
export const GO_FLAGS = {CGO_ENABLED: '0', GOFLAGS: '-trimpath', GOTOOLCHAIN: 'local'} as const;

/** Version and platform of the local Go, or an error that says what is missing. */
export async function goVersion(): Promise<string> {
  const env = {...process.env, ...GO_FLAGS};
  const answer = await run(['go', 'env', 'GOVERSION', 'GOOS', 'GOARCH'], {env, cwd: '/'}).catch(cause => {
    throw new Error(`${NEEDED}, and there is no \`go\` on PATH: see https://go.dev/doc/install`, {cause});
  });
  const [, major, minor] = /^go(\d+)\.(\d+)/.exec(answer) ?? [];
  if (Number(major) === 1 && Number(minor) < MINIMUM_MINOR) {
    throw new Error(`${NEEDED}; this is ${answer.split('\n')[0]}: see https://go.dev/doc/install`);
  }
  return answer.trim().replaceAll('\n', ' ');
}

export interface GoBuild {
  /** The folder that holds go.mod. */
  module: string;
  package: string;
  output: string;
  ldflags: string;
  /** GOCACHE of this build. */
  cache: string;
  /** How many builds run at the same time and share the memory; by default, only this one. */
  builds?: number;
}

export async function goBuild(build: GoBuild): Promise<void> {
  // The linker drops debug information (-s -w), so the compiler need not generate it.
  const flags = ['-gcflags=all=-dwarf=false', '-ldflags', `-s -w ${build.ldflags}`];
  const argv = ['go', 'build', ...flags, '-o', build.output, build.package];
  const env = {...process.env, ...GO_FLAGS, ...compilerMemory(build.builds ?? 1), GOCACHE: build.cache};
  await run(argv, {cwd: build.module, env}).catch(explain);
}

/** Compilers use a tenth less CPU if they collect no garbage until memory gets scarce. */
function compilerMemory(builds: number): Readonly<Record<string, string>> {
  const mebibytes = Math.floor(freemem() / 2 / (builds * availableParallelism()) / 2 ** 20);
  return mebibytes < 1024 ? {} : {GOGC: 'off', GOMEMLIMIT: `${mebibytes}MiB`};
}

/** The folder of a module in the module cache. Downloads the module if necessary. */
export async function goModuleFolder(module: string, cwd: string, toolchain: string): Promise<string> {
  const env = {...process.env, ...GO_FLAGS, GOTOOLCHAIN: toolchain};
  const answer = await run(['go', 'mod', 'download', '-json', module], {cwd, env}).catch(explain);
  return (JSON.parse(answer) as {Dir: string}).Dir;
}

function explain(cause: Error): never {
  const offline = /dial tcp|no such host|i\/o timeout|network is unreachable|connection refused/.test(cause.message);
  if (offline) {
    throw new Error(
      'the Go module proxy cannot be reached: the first build downloads about 5 GB of modules (GOPROXY says from where)',
      {cause},
    );
  }
  throw cause;
}

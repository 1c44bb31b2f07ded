/**
 * The programs as the image and npm ship them: one file each, since Node refuses to strip types inside node_modules,
 * and since reading some thousand files makes a start slow. Not minified: stack traces name what they mean.
 */
import {defineConfig, type RolldownOptions} from 'rolldown';

const root = new URL('..', import.meta.url).pathname;

function program(name: string, source = `src/bin/${name}.ts`): RolldownOptions {
  return {
    input: `${root}${source}`,
    platform: 'node',
    // A dependency means the package of this name, and would get Node's deprecated module, with a warning at each start.
    resolve: {alias: {punycode: 'punycode/punycode.js'}},
    output: {file: `${root}dist/${name}.mjs`, format: 'esm', codeSplitting: false, minify: false},
  };
}

export default defineConfig([
  program('operator'),
  program('check'),
  program('messages'),
  // The thread of the store: a thread starts from a file of its own.
  program('messages-store', 'src/messages/store/sqlite/worker.ts'),
]);

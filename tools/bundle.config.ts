/**
 * The programs as the image and npm ship them: one file each, since Node refuses to strip types inside node_modules,
 * and since reading some thousand files makes a start slow. Not minified: stack traces name what they mean.
 *
 * Beside each stands what is in it, as CycloneDX: a scanner sees no packages in a bundle. It is made of the modules that
 * were bundled; `npm sbom --omit=dev` leaves out packages that a development dependency needs as well.
 */
import {fileURLToPath} from 'node:url';
import {defineConfig, type Plugin, type RolldownOptions} from 'rolldown';
import sbom from 'rollup-plugin-sbom';

const root = fileURLToPath(new URL('..', import.meta.url));

/** With the texts of the licences, which ask to go where the code goes. Without the time: what is the same comes out the same. */
const SBOM = {outDir: '', saveTimestamp: false, includeWellKnown: false, collectLicenseEvidence: true} as const;

/** V8 keeps the source, and takes two bytes for each character as soon as one is not Latin. */
const ascii: Plugin = {
  name: 'ascii',
  renderChunk: code => code.replace(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
};

/** How a program is made one file, and a peer in bench/, so that they compare. */
export const ONE_FILE = {
  platform: 'node',
  logLevel: 'warn',
  // Its generated models, a megabyte, are evaluated when they are there, and nobody uses them.
  treeshake: {moduleSideEffects: [{test: /@kubernetes\/client-node\//, sideEffects: false}]},
  // A dependency means the package of this name, and would get Node's deprecated module, with a warning at each start.
  resolve: {alias: {punycode: 'punycode/punycode.js'}},
  plugins: [ascii],
} satisfies RolldownOptions;

function program(name: string, source = `src/bin/${name}.ts`): RolldownOptions {
  return {
    ...ONE_FILE,
    input: `${root}${source}`,
    checks: {pluginTimings: false},
    // The plugin looks for all bundlers that it knows.
    onLog: (level, log, print) => log.message.includes('registration of tool "rollup"') || print(level, log),
    plugins: [sbom({...SBOM, outFilename: `${name}.cdx`}), ...ONE_FILE.plugins],
    output: {file: `${root}dist/${name}.mjs`, format: 'esm', codeSplitting: false, minify: false},
  };
}

export default defineConfig([
  program('operator'),
  program('check'),
  program('review'),
  program('kubectl-nameplate'),
  program('messages'),
  // The thread of the store: a thread starts from a file of its own.
  program('messages-store', 'src/messages/store/sqlite/worker.ts'),
]);

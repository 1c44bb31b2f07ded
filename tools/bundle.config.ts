/**
 * The programs as the image and npm ship them: one file each, because Node refuses to strip types inside node_modules,
 * and because reading thousands of files slows the start. They are not minified, so that stack traces stay readable.
 *
 * Each comes with a CycloneDX list of its packages, because a scanner sees none in a bundle. The list is generated from
 * the bundled modules: `npm sbom --omit=dev` leaves out packages that a development dependency needs as well.
 */
import {fileURLToPath} from 'node:url';
import {defineConfig, type Plugin, type RolldownOptions} from 'rolldown';
import sbom from 'rollup-plugin-sbom';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Includes the license texts, which must accompany the code. Omits the time, so that the output is reproducible. */
const SBOM = {outDir: '', saveTimestamp: false, includeWellKnown: false, collectLicenseEvidence: true} as const;

/** V8 keeps the source, with two bytes per character if any character is outside Latin-1. */
const ascii: Plugin = {
  name: 'ascii',
  renderChunk: code => code.replace(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
};

/** How a program is bundled into one file. The peers in bench/ are bundled in the same way, for a fair comparison. */
export const ONE_FILE = {
  platform: 'node',
  logLevel: 'warn',
  // Drops a megabyte of generated models, which nobody uses but which would be evaluated at each start.
  treeshake: {moduleSideEffects: [{test: /@kubernetes\/client-node\//, sideEffects: false}]},
  // A dependency needs the package of this name. Otherwise, it would get Node's deprecated module, with a warning at
  // each start.
  resolve: {alias: {punycode: 'punycode/punycode.js'}},
  plugins: [ascii],
} satisfies RolldownOptions;

function program(name: string, source = `src/bin/${name}.ts`): RolldownOptions {
  return {
    ...ONE_FILE,
    input: `${root}${source}`,
    checks: {pluginTimings: false},
    // The plugin looks for every bundler that it supports.
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
  program('challenges'),
  program('nameserver'),
  program('console'),
  program('messages'),
  // The store's thread, which needs a separate file to start from.
  program('messages-store', 'src/messages/store/sqlite/worker.ts'),
]);

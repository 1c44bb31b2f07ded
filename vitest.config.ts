import {join} from 'node:path';
import {defineConfig} from 'vitest/config';
import {BaseSequencer, type TestSpecification} from 'vitest/node';

/** The error of a wait for a condition says more than that of a test. */
const LONGER_THAN_ANY_WAIT_MS = 600_000;

/** The files that take minutes. Without timings of earlier runs, vitest would begin with the largest files instead. */
const LONGEST = [
  'crash/crash.test.ts',
  'operator/operator.test.ts',
  'approval/approval.test.ts',
  'restart/restart.test.ts',
];

/** Runs the files that take minutes first, so that none of them is left for one worker while the other is idle. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => Number(isLong(b)) - Number(isLong(a)));
  }
}

function isLong({moduleId}: TestSpecification): boolean {
  return LONGEST.some(file => moduleId.endsWith(`/integration/${file}`));
}

export default defineConfig({
  test: {
    sequence: {sequencer: LongestFirst},
    chaiConfig: {truncateThreshold: 4000}, // the summary of a run shows messages without diffs
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'tools/**/*.test.ts', 'test/{support,cluster,e2e/hostile}/**/*.test.ts'],
          // A busy machine must not decide a test that takes a second.
          testTimeout: LONGER_THAN_ANY_WAIT_MS,
          hookTimeout: LONGER_THAN_ANY_WAIT_MS,
        },
      },
      {
        // Real API servers and DNS servers as processes on this machine.
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts', ...(process.env.SOAK ? ['test/integration/**/*.soak.ts'] : [])],
          globalSetup: 'test/integration/setup.ts',
          // Tests start our programs hundreds of times. Compiled before, they take half of the CPU to start.
          env: {NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compiled')},
          testTimeout: LONGER_THAN_ANY_WAIT_MS,
          hookTimeout: LONGER_THAN_ANY_WAIT_MS,
          // With two workers, a third of two cores stays idle. In a soak, nothing else runs next to 10,000 domains.
          maxWorkers: process.env.SOAK ? 1 : 3,
          maxConcurrency: 16,
        },
      },
      {
        // The full cluster; run inside it by test/run.ts.
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts', ...(process.env.SOAK ? ['test/e2e/**/*.soak.ts'] : [])],
          exclude: ['test/e2e/hostile/*.test.ts'], // unit tests of the generator
          globalSetup: 'test/e2e/setup.ts',
          testTimeout: LONGER_THAN_ANY_WAIT_MS,
          hookTimeout: LONGER_THAN_ANY_WAIT_MS,
          maxWorkers: 1,
          maxConcurrency: 6,
        },
      },
      {
        // The release, built twice.
        test: {
          name: 'release',
          include: ['test/release/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 1_200_000,
        },
      },
      {
        // The full cluster with a Gateway instead of Traefik; run inside it by test/run.ts.
        test: {
          name: 'gateway',
          include: ['test/gateway/**/*.test.ts', ...(process.env.SOAK ? ['test/gateway/**/*.soak.ts'] : [])],
          globalSetup: 'test/e2e/setup.ts',
          testTimeout: LONGER_THAN_ANY_WAIT_MS,
          hookTimeout: LONGER_THAN_ANY_WAIT_MS,
          maxWorkers: 1,
          maxConcurrency: 6,
        },
      },
      {
        // The full cluster, in which the test installs the last release; run inside it by test/run.ts.
        test: {
          name: 'upgrade',
          include: ['test/upgrade/**/*.test.ts'],
          testTimeout: 900_000, // Longer than Helm waits for two upgrades.
          hookTimeout: 900_000,
        },
      },
      {
        // The full cluster, in which the test installs this release by its README; run inside it by test/run.ts.
        test: {
          name: 'adopt',
          include: ['test/adopt/**/*.test.ts'],
          testTimeout: 900_000, // Longer than the waits in the README.
          hookTimeout: 900_000,
          bail: 1, // Each test starts where the previous one ended.
        },
      },
    ],
  },
});

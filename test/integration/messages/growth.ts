import {expect} from 'vitest';
import {MIB, residentBytes} from './raw.ts';
import type {Service} from './service.ts';

/** Prints how much resident memory has grown, and expects less than a limit. The rest is the collector's choice. */
export async function expectGrowth(
  program: Pick<Service, 'pid'>,
  before: number,
  {below}: {readonly below: number},
): Promise<void> {
  const grown = (await residentBytes(program)) - before;
  console.info(`Resident memory: ${Math.round(grown / MIB)} MiB more, ${Math.round(below / MIB)} MiB allowed`);
  expect(grown).toBeLessThan(below);
}

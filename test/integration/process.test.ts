/** How each program responds to its command line. */
import {execFile} from 'node:child_process';
import {join} from 'node:path';
import {expect, test} from 'vitest';

const BIN = join(import.meta.dirname, '../../src/bin');

function run(program: string, ...args: readonly string[]): Promise<{code: number; out: string; err: string}> {
  return new Promise(resolve => {
    const child = execFile(process.execPath, [join(BIN, `${program}.ts`), ...args], (_, out, err) =>
      resolve({code: child.exitCode ?? -1, out, err}),
    );
  });
}

const USAGE: Readonly<Record<string, string>> = {
  operator: 'usage: operator --config FILE',
  messages: 'usage: messages --config FILE',
  challenges: 'usage: challenges --thumbprint FILE',
  nameserver: 'usage: nameserver --zone DOMAIN',
};

test.concurrent.each(Object.entries(USAGE))('%s --help says how it is used', async (program, usage) => {
  expect(await run(program, '--help')).toEqual({code: 0, out: expect.stringContaining(usage), err: ''});
});

test.concurrent.each([
  {program: 'operator', args: []},
  {program: 'operator', args: ['--nonsense']},
  {program: 'operator', args: ['surplus']},
  {program: 'messages', args: ['--config']},
  {program: 'messages', args: ['surplus', '--config', 'none']},
  {program: 'challenges', args: []},
  {program: 'challenges', args: ['--thumbprint', 'FILE', '--port', '65536']},
  {program: 'challenges', args: ['--thumbprint', 'FILE', '--operations-port', '0x50']},
  {program: 'challenges', args: ['--thumbprint', 'FILE', 'surplus']},
  {program: 'nameserver', args: []},
  {program: 'nameserver', args: ['--zone', 'acme.example.net']},
  {program: 'nameserver', args: ['--zone', 'Acme.example.net.', '--name-server', 'ns1.example.net']},
  {program: 'nameserver', args: ['--zone', 'acme.example.net', '--name-server', 'ns1.acme.example.net']},
])('$program $args is refused with the usage, without a stack', async ({program, args}) => {
  const {code, out, err} = await run(program, ...args);
  expect({code, out}).toEqual({code: 2, out: ''});
  expect(err).not.toMatch(/^\s+at /m);
  if (!args.includes('none')) expect(err).toContain(USAGE[program]);
});

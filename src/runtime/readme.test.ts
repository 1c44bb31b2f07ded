import {existsSync} from 'node:fs';
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {expect, test} from 'vitest';

const README = await readFile(join(import.meta.dirname, 'README.md'), 'utf8');

test.each(['controller', 'program'])('the README shows example/%s.ts as it is', async name => {
  const code = await readFile(join(import.meta.dirname, `example/${name}.ts`), 'utf8');
  expect(README).toContain(`\`\`\`ts\n${code}\`\`\`\n`);
  expect(code.split('\n').length).toBeLessThanOrEqual(41);
});

test('every file that the README links to exists', () => {
  const links = [...README.matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => link);
  const local = links.filter(link => !link.startsWith('http'));
  expect(local.filter(link => !existsSync(join(import.meta.dirname, link)))).toEqual([]);
  expect(local.length).toBeGreaterThan(15);
});

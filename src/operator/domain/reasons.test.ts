import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, it} from 'vitest';
import {DOMAIN_REASONS} from './reasons.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/conditions.md'), 'utf8');

describe('every reason is explained in docs/conditions.md', () => {
  for (const [condition, reasons] of Object.entries(DOMAIN_REASONS)) {
    it.each(reasons)(`${condition}: %s`, reason => {
      const section = page.slice(page.indexOf(`\n### ${condition}\n`));
      const table = section.slice(0, section.indexOf('\n\n', section.indexOf('|---|')));
      expect(table).toContain(`\`${reason}\``);
    });
  }
});

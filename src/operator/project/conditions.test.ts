import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, it} from 'vitest';
import {REASONS} from './conditions.ts';

const readme = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8');

describe('every reason of a Project is explained in the README', () => {
  for (const [condition, reasons] of Object.entries(REASONS)) {
    it.each(reasons)(`${condition}: %s`, reason => {
      const section = readme.slice(readme.indexOf(`**${condition} of a Project**`));
      const table = section.slice(0, section.indexOf('\n\n', section.indexOf('|---|')));
      expect(table).toContain(`\`${reason}\``);
    });
  }
});

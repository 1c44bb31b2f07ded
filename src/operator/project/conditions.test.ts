import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, it, test} from 'vitest';
import {CertificateReady, Routed} from '../domain/conditions.ts';
import {DOMAIN_REASONS} from '../domain/reasons.ts';
import {PROJECT_REASONS, ProjectReady} from './conditions.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/conditions.md'), 'utf8');

describe('every reason of a Project is explained in docs/conditions.md', () => {
  for (const [condition, reasons] of Object.entries(PROJECT_REASONS)) {
    it.each(reasons)(`${condition}: %s`, reason => {
      const section = page.slice(page.indexOf(`\n### ${condition} of a Project\n`));
      const table = section.slice(0, section.indexOf('\n\n', section.indexOf('|---|')));
      expect(table).toContain(`\`${reason}\``);
    });
  }
});

const issued = CertificateReady.issued('2027-01-30T00:00:00Z');
const serving = Routed.serving('shop', '');

describe('a Project reports the step of its default host that a person must know', () => {
  test.each([
    {steps: [issued, serving], status: 'True', reason: 'Published', says: 'Requests go to Service shop.'},
    {steps: [serving], status: 'True', reason: 'Published', says: 'published at https://shop.test/.'},
    {steps: [CertificateReady.renewalFailing('later', 'Why.'), serving], status: 'True', reason: 'RenewalFailing'},
    {steps: [CertificateReady.expired('then', 'Why.'), serving], reason: 'CertificateExpired'},
    {steps: [CertificateReady.failed('why.', undefined, 'run: it'), Routed.waiting('it')], reason: 'CertificateFailed'},
    {steps: [CertificateReady.issuing(''), Routed.waiting('it')], reason: 'CertificateNotReady', says: 'being issued'},
    {steps: [issued, Routed.pending('HTTPRoute np')], reason: 'RoutePending', says: 'HTTPRoute np'},
    {steps: [issued, Routed.notAccepted('HTTPRoute np', 'Why')], reason: 'RouteNotAccepted'},
    {steps: [issued, Routed.refused('no', true)], status: 'True', reason: 'Refused'},
  ])('$reason', ({steps, status = 'False', reason, says = ''}) => {
    const found = ProjectReady.of('shop.test', steps);
    expect(found).toMatchObject({type: 'Ready', status, reason, message: expect.stringContaining(says)});
    // After an outage, the steps have the condition that was reported.
    expect(
      ProjectReady.of('shop.test', [
        {...found, type: 'CertificateReady'},
        {...found, type: 'Routed'},
      ]),
    ).toEqual(found);
  });

  test('with one of its own reasons, whatever the reason of the step', () => {
    const reasons = new Set<string>(PROJECT_REASONS.Ready);
    const steps = (['CertificateReady', 'Routed'] as const).flatMap(type =>
      DOMAIN_REASONS[type].map(reason => ({type, status: 'False', reason, message: ''}) as const),
    );
    expect(steps.filter(step => !reasons.has(ProjectReady.of('shop.test', [step]).reason))).toEqual([]);
  });
});

import {expect, test} from 'vitest';
import {parseConfig} from '../../process/load-config.ts';
import {operatorConfigDefinition} from '../config-schema.ts';
import {rememberMs} from './made.ts';

const platform = 'platform: {baseDomain: apps.example.net, targetDomain: edge.example.net, keyFile: /key}';

test.each([
  {section: '', seconds: 604_800},
  {section: 'orderBudget: {windowSeconds: 1000000, domainWindowSeconds: 900000}', seconds: 1_000_000},
  {section: 'orderBudget: {domainWindowSeconds: 900000}', seconds: 900_000},
  {section: 'failureBudget: {windowSeconds: 2000000}', seconds: 2_000_000},
])('an order counts for the longest window: {$section}', ({section, seconds}) => {
  const text = `${platform}\ncertificates:\n  issuerRef: {name: letsencrypt}\n  ${section}\n`;
  expect(rememberMs(parseConfig(text, 'config.yaml', operatorConfigDefinition))).toBe(seconds * 1000);
});

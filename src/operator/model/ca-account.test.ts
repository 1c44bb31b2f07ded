import {expect, test} from 'vitest';
import {keptIssuer} from './ca-account.ts';
import type {OperatorConfig} from './config.ts';
import type {Certificate} from './kinds.ts';

const group = 'cert-manager.io';
const current = {name: 'letsencrypt', kind: 'ClusterIssuer', group};
const former = {name: 'internal', kind: 'ClusterIssuer', group};
const config = {certificates: {issuerRef: current, formerIssuerRefs: [former]}} as unknown as OperatorConfig;

test.each([
  {its: 'the platform’s issuer', issuerRef: current, kept: current},
  {its: 'an issuer that the platform listed before', issuerRef: former, kept: former},
  {its: 'an Issuer of its namespace', issuerRef: {name: 'letsencrypt'}, kept: current},
  {its: 'an issuer of another group', issuerRef: {...current, group: 'mallory.example'}, kept: current},
])('a Certificate from $its gets its next certificate from $kept.name', ({issuerRef, kept}) => {
  const existing = {spec: {secretName: 'np-a', issuerRef}} as Certificate;
  expect(keptIssuer(config, existing)).toEqual(kept);
});

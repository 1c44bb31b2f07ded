import {expect, test} from 'vitest';
import {surelySelects} from './selector.ts';

const object = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {name: 'x', namespace: 'a', labels: {app: 'shop', 'n.dev/tier': ''}},
};

test.each([
  {selector: {}, want: true},
  {selector: {namespace: 'a'}, want: true},
  {selector: {namespace: 'b'}, want: false},
  {selector: {labelSelector: 'app'}, want: true},
  {selector: {labelSelector: '!app'}, want: false},
  {selector: {labelSelector: '!other'}, want: true},
  {selector: {labelSelector: 'app=shop'}, want: true},
  {selector: {labelSelector: 'app==shop,n.dev/tier='}, want: true},
  {selector: {labelSelector: 'app=shop, n.dev/tier=gold'}, want: false},
  {selector: {labelSelector: 'app!=shop'}, want: false},
  {selector: {labelSelector: 'other!=shop'}, want: true},
  {selector: {labelSelector: 'app in (shop,blog)'}, want: false},
  {selector: {fieldSelector: 'metadata.name=x'}, want: false},
])('$selector: $want', ({selector, want}) => {
  expect(surelySelects(selector, object)).toBe(want);
});

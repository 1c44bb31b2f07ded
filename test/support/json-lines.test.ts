import {expect, test} from 'vitest';
import {jsonLines} from './json-lines.ts';

test.each([
  {name: 'all that are complete', text: '{"a":1}\n{"a":{}}\n', objects: [{a: 1}, {a: {}}]},
  {name: 'not one that is being written', text: '{"a":1}\n{"a":{}', objects: [{a: 1}]},
  {name: 'not even if it could be one', text: '{"a":1}\n{"a":{}}', objects: [{a: 1}]},
  {name: 'nothing else', text: 'Error\n    at f\n{"a":1}\n', objects: [{a: 1}]},
  {name: 'nothing of nothing', text: '', objects: []},
])('reads $name', ({text, objects}) => {
  expect(jsonLines(text)).toEqual(objects);
});

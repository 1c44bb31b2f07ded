import {describe} from 'vitest';
import {challengesOnPort80} from './http.suite.ts';
import {protocols} from './protocols.suite.ts';

describe('port 80', challengesOnPort80);
describe('protocols', protocols);

import {afterAll} from 'vitest';
import {fuzzSuite} from './fuzz.suite.ts';
import {removeFolders, startService} from './service.ts';

fuzzSuite(startService);
afterAll(removeFolders);

import {afterAll} from 'vitest';
import {removeFolders, temporaryFolder} from './service.ts';
import {turnsSuite} from './turns.suite.ts';

turnsSuite(async () => ({folder: await temporaryFolder(), reserveBytes: 0}));
afterAll(removeFolders);

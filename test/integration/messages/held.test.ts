import {afterAll} from 'vitest';
import {heldSuite} from './held.suite.ts';
import {removeFolders, startService} from './service.ts';

heldSuite(startService);
afterAll(removeFolders);

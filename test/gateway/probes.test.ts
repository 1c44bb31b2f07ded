import {probeFaults} from './probes.suite.ts';

probeFaults();

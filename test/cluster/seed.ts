/** Run once inside a new cluster: writes the zones that it starts with into the folder given. */
import {seedZones} from './zones.ts';

await seedZones(process.argv[2] ?? '');

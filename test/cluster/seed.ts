/** Runs once inside a new cluster: writes its initial zones to the given folder. */
import {seedZones} from './zones.ts';

await seedZones(process.argv[2] ?? '');

/** The options of heap snapshots and CPU profiles, which every program has. */
import {integer, section} from './config-schema.ts';

export interface DiagnosticsConfig {
  /** Absent: the signals are not handled. */
  readonly folder?: string;
  readonly cpuSeconds: number;
}

export const diagnostics = section(
  'Heap snapshots (SIGUSR2) and CPU profiles (SIGHUP). They contain keys and Secrets.',
  {
    folder: {
      type: 'string',
      minLength: 1,
      title: 'the path of a folder',
      description: 'Folder to write them to. It must exist. If it is missing, the signals are not handled.',
    },
    cpuSeconds: integer(10, 1, 300, 'The length of a CPU profile, in seconds.'),
  },
);

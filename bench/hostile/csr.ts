/** Certificate requests of 16 KiB that are built to be slow to decode, compared with one from OpenSSL. */
import {requestedNames} from '../../src/operator/kinds/csr.ts';
import {hostileRequests, pemOf} from '../../test/integration/approval/hostile-csr.ts';
import {signingRequest} from '../../test/integration/approval/signing-request.ts';
import {type Figure, measure, print} from './table.ts';

export async function bench(): Promise<void> {
  const honest = await signingRequest({names: ['DNS:a.example.com']});
  const requests = Object.entries(hostileRequests).map(([what, der]): [string, string] => [what, pemOf(der)]);
  print(
    [['an honest one', honest] as [string, string], ...requests].map(([what, request]): Figure => {
      const meter = {elements: 0};
      const ms = measure(() => {
        meter.elements = 0;
        requestedNames(request, meter);
      });
      return {what, bytes: request.length, ms, counted: `${meter.elements} elements looked at`};
    }),
  );
}

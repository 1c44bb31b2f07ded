/** Chains of redirects that a tenant created manually. */
import {followRedirects, type Hop} from '../../src/operator/domain/redirects.ts';
import {measure, print} from './table.ts';

export function bench(): void {
  print(
    [10, 15_000, 50_000].map(redirects => {
      let looked = 0;
      const hopOf = (n: number): Hop => ({host: `h${n}`, ...(n < redirects && {to: `h${n + 1}`})});
      const follow = () => {
        looked = 0;
        return followRedirects(hopOf(0), host => {
          looked++;
          return hopOf(Number(host.slice(1)));
        });
      };
      const ms = measure(follow);
      return {what: `${redirects} redirects in a row`, ms, counted: `${looked} hops looked up, ${follow().kind}`};
    }),
  );
}

/** A certificate is renewed long before it expires; here, because somebody asks for it. */
import {waitForCondition} from './commands.ts';
import type {Terminal} from './terminal.ts';

const HOSTS = ['shop.example.com', 'www.shop.example.com'] as const;

export async function renewal(terminal: Terminal): Promise<void> {
  terminal.heading('A renewal, of a host that serves and of one that redirects');
  const serial = (host: string) =>
    `curl -sS -o /dev/null -w '%{certs}' https://${host}/ | awk '/Serial Number/ && !n++'`;
  const {text} = await terminal.type(HOSTS.map(serial), {
    shows: 'their certificates',
    matching: [/^Serial Number:.+\nSerial Number:.+$/],
  });
  const [ofShop = '', ofWww = ''] = text.split('\n');
  const condition = {
    type: 'Issuing',
    status: 'True',
    reason: 'ManuallyTriggered',
    message: '',
    lastTransitionTime: 'NOW',
  };
  const patch = JSON.stringify([{op: 'add', path: '/status/conditions/-', value: condition}]);
  const begin = [
    `issuing=$(echo '${patch}' | sed "s/NOW/$(date -u +%FT%TZ)/")`,
    `for host in ${HOSTS.join(' ')}; do`,
    '  name=$(kubectl -n acme get certificates -l nameplate.dev/host=$host -o name)',
    '  kubectl -n acme patch $name --subresource=status --type=json -p "$issuing"',
    'done',
  ];
  await terminal.type(begin.join('\n'), {shows: 'cert-manager begins, as with `cmctl renew`', matching: [/patched/]});
  const renewed = (host: string, former: string) => `until ${serial(host)} | grep -v '${former}'; do :; done`;
  await terminal.type([renewed(HOSTS[0], ofShop), renewed(HOSTS[1], ofWww)], {
    shows: 'new certificates at the edge; the CA validated both past the redirect to HTTPS',
    matching: [/^Serial Number:.+\nSerial Number:.+$/],
  });
  for (const host of HOSTS) await terminal.type(waitForCondition('acme', host, 'Ready'), {shows: 'live all the time'});
  await terminal.type(
    'kubectl get domainclaims shop.example.com -o jsonpath=\'{range .spec.orders[*]}{.at}  {.issuer}{"\\n"}{end}\'',
    {
      shows: 'both orders, which count against the limits of the CA',
      matching: [/^\S+ {2}pebble\n\S+ {2}pebble$/],
    },
  );
}

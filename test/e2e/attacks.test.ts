/**
 * Attacks of one tenant on another, by tenants that are admins of their namespaces. Each attempt is refused, with the
 * reason, or harmless, and the victim is served throughout.
 */
import {afterAll, beforeAll, describe, expect, it} from 'vitest';
import {liveVictim, type Victim} from './attacks/attackers.ts';
import {askForCertificates} from './attacks/certificates.suite.ts';
import {changeWhatIsManaged, takeRights} from './attacks/managed.suite.ts';
import {moving} from './attacks/moves.suite.ts';
import {collide, copyKey, redirectAway} from './attacks/names.suite.ts';
import {leadElsewhere, writeRoutes} from './attacks/routes.suite.ts';
import {misleadVerifier, squat, takeNodePorts} from './attacks/shared-resources.suite.ts';

const ATTACKS: Readonly<Record<string, (victim: Victim) => Promise<void>>> = {
  // Takes the longest, so it starts first.
  // attack: hostile-dns
  'name servers within the cluster are not queried, and rotating answers are reported only now and then':
    misleadVerifier,
  // attack: foreign-route
  'a route of the edge: no Ingress, with or without a class, and no Traefik resource': writeRoutes,
  // attack: foreign-certificate
  // promise: proof
  "a certificate for another tenant's host: every request is denied, and nothing is ordered": askForCertificates,
  // attack: managed-objects
  'managed objects in its own namespace cannot be changed, kept, or deleted': changeWhatIsManaged,
  // attack: forged-status
  'the rights and the labels that the platform gives cannot be taken': takeRights,
  // attack: foreign-backend
  'a Service that points elsewhere does not move its host': leadElsewhere,
  // attack: name-collision
  // promise: proof
  'a default host can neither be collided with nor listed': collide,
  // attack: bad-redirect
  'a redirect points only to its own host, whatever is written for one': redirectAway,
  // attack: stolen-key
  'a key that is copied into another account works only for its owner': copyKey,
  // attack: squatting
  // promise: dns-owner
  'hosts that nobody has proved yet cannot be kept from their owner, however many there are': squat,
  'all node ports: other tenants still get certificates': takeNodePorts,
};

describe.concurrent('attacks', () => {
  let victim: Victim;
  beforeAll(async () => {
    victim = await liveVictim();
  });
  afterAll(async () => {
    expect(await victim?.strangeAnswers()).toEqual([]);
  });
  for (const [name, attack] of Object.entries(ATTACKS)) it(name, () => attack(victim));
});

describe.concurrent('attacks by DNS', () => {
  moving();
});

/**
 * Facts that hold once no work is due, whether or not a restart changes them. They follow from what tenants, the
 * platform, and DNS show, so they also find what the operator gets wrong both before and after a restart.
 */
import {findCondition} from '../../../src/api/conditions.ts';
import {ANNOTATION, LABEL} from '../../../src/api/names.ts';
import {accountId, hasPause} from '../../../src/operator/kinds/account.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {isManaged, listedHost, listedHosts} from '../../../src/operator/kinds/project-hosts.ts';
import type {KubeObject} from '../../../src/runtime/kube/object.ts';
import type {History} from '../operator/history.ts';
import {type Family, FROZEN} from './family.ts';

type Namespace = KubeObject;

/** What is wrong with the objects of a family. `isPaused`: the configuration pauses everything. */
export function untrue(history: History, family: Family, isPaused: boolean): string[] {
  const facts = new Facts(history, family, isPaused);
  return [...facts.ofDomains(), ...facts.ofClaims(), ...facts.ofRoutes(), ...facts.ofProjects()];
}

class Facts {
  readonly #history: History;
  readonly #family: Family;
  readonly #isPaused: boolean;
  readonly #namespaces: readonly Namespace[];

  constructor(history: History, family: Family, isPaused: boolean) {
    this.#history = history;
    this.#family = family;
    this.#isPaused = isPaused;
    this.#namespaces = family.namespaces.flatMap(name => {
      const found = history.get(kinds.NAMESPACE, name);
      return found && !found.metadata.deletionTimestamp ? [found] : [];
    });
  }

  ofDomains(): string[] {
    return this.#domains().flatMap(domain => {
      const {spec, metadata, status} = domain;
      const {namespace = ''} = metadata;
      const what = `Domain ${namespace}/${spec.host}`;
      const isReady = findCondition(status?.conditions, 'Ready')?.status === 'True';
      const holder = this.#holder(spec.host);
      const routed = this.#history.get(kinds.INGRESS, `${namespace}/${routeName(namespace, spec.host)}`);
      const isHeldElsewhere = holder !== undefined && holder !== namespace;
      const isListed = this.#projects(namespace).some(project => listedHost(project, spec.host));
      const isOrphan = isManaged(domain) && !isListed && !this.#isFrozen(namespace);
      return [
        ...(isReady && !routed ? [`${what} is Ready without a route`] : []),
        ...(isReady && isHeldElsewhere ? [`${what} is Ready, but ${holder} holds the host`] : []),
        ...(isOrphan ? [`${what} is there, but no Project lists its host`] : []),
        ...(!isReady && this.#mustServe(domain) ? [`${what} is not Ready: ${said(domain)}`] : []),
      ];
    });
  }

  ofClaims(): string[] {
    return this.#claims().flatMap(({metadata: {name}, spec}) => {
      const isHeld = spec.releasedAt === undefined && spec.project === undefined;
      if (!isHeld || this.#history.get(kinds.DOMAIN, `${spec.namespace}/${name}`)) return [];
      return [`${spec.namespace} holds ${name} without a Domain`];
    });
  }

  /** Of custom hosts: a host is served only in the namespace that holds it, and for a Domain. */
  ofRoutes(): string[] {
    return this.#namespaces.flatMap(({metadata: {name}}) =>
      this.#history.list(kinds.INGRESS, name).flatMap(({metadata, spec}) => {
        const served = spec.rules.find(({http}) => http)?.host ?? '';
        const isOurs = metadata.labels?.[LABEL.managedBy] === 'nameplate' && served.endsWith(`.${this.#family.domain}`);
        if (!isOurs || this.#isFrozen(name) || metadata.name !== routeName(name, served)) return [];
        const holder = this.#holder(served);
        return [
          ...(this.#history.get(kinds.DOMAIN, `${name}/${served}`)
            ? []
            : [`${name} serves ${served} without a Domain`]),
          ...(holder === undefined || holder === name ? [] : [`${name} serves ${served}, but ${holder} holds it`]),
        ];
      }),
    );
  }

  ofProjects(): string[] {
    return this.#namespaces.flatMap(namespace => {
      if (!this.#isFree(namespace)) return [];
      const {name} = namespace.metadata;
      return this.#projects(name).flatMap(project => {
        if (hasPause(project)) return [];
        const what = `Project ${name}/${project.metadata.name}`;
        const missing = listedHosts(project).filter(({host}) => {
          const domain = this.#history.get(kinds.DOMAIN, `${name}/${host}`);
          const isPaused = this.#projects(name).some(other => hasPause(other) && listedHost(other, host));
          return !domain && !isPaused;
        });
        const ready = findCondition(project.status?.conditions, 'Ready');
        const isPublished = ready?.status === 'True' || !this.#hasService(project);
        return [
          ...missing.map(({host}) => `${what} lists ${host}, which has no Domain`),
          ...(isPublished ? [] : [`${what} is not Ready: ${ready?.reason} ${ready?.message}`]),
        ];
      });
    });
  }

  /** Nothing withholds the host: neither the plan, the Project, the Service, DNS, a pause, nor somebody else. */
  #mustServe({spec, metadata, status}: kinds.Domain): boolean {
    const {namespace = ''} = metadata;
    const {host, redirect, projectRef} = spec;
    const own = this.#namespaces.find(({metadata: {name}}) => name === namespace);
    const project = this.#history.get(kinds.PROJECT, `${namespace}/${projectRef.name}`);
    if (!own || !project || redirect || metadata.deletionTimestamp || !this.#isFree(own)) return false;
    if (!this.#family.owns(host)) return false; // it is the platform's
    const listing = this.#projects(namespace).filter(each => listedHost(each, host));
    const isPaused = [...listing, project].some(hasPause) || metadata.annotations?.[ANNOTATION.paused] !== undefined;
    const isContested =
      listing.length > 1 ||
      this.#domains().some(other => other.spec.host === host && other.metadata.uid !== metadata.uid);
    const isDeployed = project.metadata.annotations?.[ANNOTATION.firstDeployedAt] !== undefined;
    if (isPaused || isContested || !isDeployed || !this.#hasService(project)) return false;
    return this.#family.proves(host, accountId(own)) && !this.#isAwaitingCa(status?.conditions);
  }

  /** cert-manager or the CA says when it continues, by a clock that the test does not move; or a person must act. */
  #isAwaitingCa(conditions: NonNullable<kinds.Domain['status']>['conditions']): boolean {
    return ['Failed', 'WrongNames'].includes(findCondition(conditions, 'CertificateReady')?.reason ?? '');
  }

  /** Its account has places for everything, nothing is paused, and the API server refuses nothing. */
  #isFree(namespace: Namespace): boolean {
    const account = accountId(namespace);
    const own = this.#namespaces.filter(each => accountId(each) === account);
    if (this.#isPaused || hasPause(namespace)) return false;
    if (this.#namespaces.some(({metadata: {name}}) => this.#isFrozen(name) || this.#keepsRoutes(name))) return false;
    return own.every(({metadata: {labels}}) => labels?.[LABEL.plan] === 'pro');
  }

  #hasService({metadata: {namespace}, spec}: kinds.Project): boolean {
    const {name, port} = spec.service;
    const ports = this.#history.get(kinds.SERVICE, `${namespace}/${name}`)?.spec?.ports ?? [];
    return ports.some(each => [each.name, each.port].includes(port));
  }

  /** A finalizer keeps a deleted route, and so withholds the next one. */
  #keepsRoutes(namespace: string): boolean {
    return this.#history.list(kinds.INGRESS, namespace).some(({metadata}) => metadata.deletionTimestamp !== undefined);
  }

  #isFrozen(namespace: string): boolean {
    return this.#history.get(kinds.NAMESPACE, namespace)?.metadata.labels?.[FROZEN] !== undefined;
  }

  #domains(): kinds.Domain[] {
    return this.#namespaces.flatMap(({metadata}) => this.#history.list(kinds.DOMAIN, metadata.name));
  }

  #projects(namespace: string): kinds.Project[] {
    return this.#history.list(kinds.PROJECT, namespace).filter(({metadata}) => !metadata.deletionTimestamp);
  }

  #claims(): kinds.DomainClaim[] {
    return this.#history.list(kinds.DOMAIN_CLAIM).filter(({metadata}) => this.#family.owns(metadata.name));
  }

  /** The namespace that holds the host. */
  #holder(host: string): string | undefined {
    const spec = this.#history.get(kinds.DOMAIN_CLAIM, host)?.spec;
    return spec?.releasedAt === undefined ? spec?.namespace : undefined;
  }
}

function said({status}: kinds.Domain): string {
  const {reason, message} = findCondition(status?.conditions, 'Ready') ?? {};
  return `${reason} ${message}`;
}

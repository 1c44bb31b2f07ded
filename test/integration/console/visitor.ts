/** A browser without script: cookies, redirects, and forms. */
import {Agent, request} from 'undici';

export interface Page {
  readonly status: number;
  readonly url: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

const MAX_REDIRECTS = 12;

export class Visitor {
  readonly #agent: Agent;
  readonly #console: string;
  /** By origin, then by name. */
  readonly cookies = new Map<string, Map<string, string>>();
  /** Every address that it was sent to. */
  readonly visited: string[] = [];

  constructor(ca: string, console: string) {
    this.#agent = new Agent({connect: {ca}});
    this.#console = console;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Page> {
    return await this.#follow('GET', new URL(path, this.#console).href, undefined, headers);
  }

  /** As a form of the console's own page. */
  async post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Page> {
    const own = {origin: this.#console, 'sec-fetch-site': 'same-origin', ...headers};
    return await this.#follow('POST', new URL(path, this.#console).href, new URLSearchParams(fields).toString(), own);
  }

  /** Opens a page, and signs in on the way if the provider asks. */
  async signIn(name: string, path = '/'): Promise<Page> {
    const form = await this.get(path);
    const action = /<form[^>]* action="([^"]+)"/.exec(form.text)?.[1];
    if (!form.text.includes('name="login"') || action === undefined) return form;
    const body = new URLSearchParams({prompt: 'login', login: name, password: 'any'}).toString();
    return await this.#follow('POST', new URL(action, form.url).href, body, {});
  }

  /** The cookie of the session. */
  get session(): string | undefined {
    return this.cookies.get(this.#console)?.get('__Host-nameplate-console');
  }

  async #follow(
    method: 'GET' | 'POST',
    address: string,
    body: string | undefined,
    headers: Readonly<Record<string, string>>,
  ) {
    let [next, verb, payload] = [address, method, body];
    let sent = headers;
    for (let hops = 0; hops < MAX_REDIRECTS; hops++) {
      this.visited.push(next);
      const page = await this.#send(verb, next, payload, sent);
      const location = page.headers.location;
      if (page.status < 300 || page.status >= 400 || typeof location !== 'string') return page;
      next = new URL(location, next).href;
      [verb, payload, sent] = ['GET', undefined, {}];
    }
    throw new Error(`more than ${MAX_REDIRECTS} redirects: ${this.visited.slice(-4).join(' ')}`);
  }

  async #send(
    method: 'GET' | 'POST',
    address: string,
    body: string | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<Page> {
    const {origin} = new URL(address);
    const jar = this.cookies.get(origin) ?? new Map<string, string>();
    this.cookies.set(origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const form = body === undefined ? {} : {'content-type': 'application/x-www-form-urlencoded'};
    const answer = await request(address, {
      method,
      dispatcher: this.#agent,
      headers: {...form, ...(cookie !== '' && {cookie}), ...headers},
      body: body ?? null,
    });
    const set = answer.headers['set-cookie'] ?? [];
    for (const line of Array.isArray(set) ? set : [set]) keep(jar, line);
    return {status: answer.statusCode, url: address, text: await answer.body.text(), headers: answer.headers};
  }
}

function keep(jar: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split(';').map(part => part.trim());
  const [name = '', ...value] = pair.split('=');
  const isOver = attributes.some(each => /^max-age=0$/i.test(each) || /^expires=Thu, 01 Jan 1970/i.test(each));
  if (isOver) jar.delete(name);
  else jar.set(name, value.join('='));
}

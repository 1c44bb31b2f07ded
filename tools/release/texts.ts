/** The texts of a release, which depend on whether it is published or only built. */

/** What follows the address of the repository in the address of a release's files. */
const DOWNLOADS = /\/releases\/download\/.*/;

/** Where the release workflow publishes. */
export interface Publication {
  /** The image's repository, which becomes the default of the chart. */
  readonly image: string;
  /** The address of the folder with the other files. */
  readonly url: string;
}

/** From IMAGE_REPOSITORY and RELEASE_URL. Without them, a release is neither signed nor in a registry, and says so. */
export function publicationIn({IMAGE_REPOSITORY, RELEASE_URL}: NodeJS.ProcessEnv): Publication | undefined {
  if (!IMAGE_REPOSITORY && !RELEASE_URL) return;
  if (!IMAGE_REPOSITORY || !RELEASE_URL) throw new Error('set both IMAGE_REPOSITORY and RELEASE_URL, or neither');
  if (!DOWNLOADS.test(RELEASE_URL))
    throw new Error('RELEASE_URL must be like https://HOST/OWNER/NAME/releases/download/vVERSION');
  return {image: IMAGE_REPOSITORY, url: RELEASE_URL.replace(/\/$/, '')};
}

/** The address of the repository on its code host. */
export function sourceUrl({url}: Publication): string {
  return url.replace(DOWNLOADS, '');
}

/** Where the code host shows the repository's files as of a release. */
export function filesUrl(publication: Publication, version: string): string {
  return `${sourceUrl(publication)}/blob/v${version}`;
}

/** Markdown whose links to files of the repository lead to those of the release's tag, if it is published. */
export function linked(markdown: string, version: string, publication?: Publication): string {
  if (publication === undefined) return markdown;
  return markdown.replace(/\]\((?!https?:|#)/g, `](${filesUrl(publication, version)}/`);
}

/**
 * Fills in the names in capitals, and keeps one branch of each {{if published}} … {{else}} … {{end}}, whose lines
 * contain nothing else. {{else}} is optional.
 */
export function fill(text: string, values: Readonly<Record<string, string>>, publication?: Publication): string {
  const filled = text.replace(
    /^\{\{if published\}\}\n(.*?)(?:^\{\{else\}\}\n(.*?))?^\{\{end\}\}\n/gms,
    (_, published: string, built = '') => (publication ? published : built),
  );
  const all = {
    ...values,
    IMAGE: publication?.image ?? 'nameplate',
    ...(publication && {RELEASE_URL: publication.url, SOURCE_URL: sourceUrl(publication)}),
  };
  return Object.entries(all).reduce((rest, [name, value]) => rest.replaceAll(name, value), filled);
}

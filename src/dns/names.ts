declare const hostBrand: unique symbol;
/** A host that may become a custom domain: lower-case A-labels (LDH), no trailing dot, below a public suffix. */
export type Host = string & {readonly [hostBrand]: true};

export type ParsedHost = {readonly ok: true; readonly host: Host} | {readonly ok: false; readonly problem: string};

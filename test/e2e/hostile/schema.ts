/** The part of the API server's OpenAPI v3 documents that the generator reads. https://kubernetes.io/docs/concepts/overview/kubernetes-api/ */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly allOf?: readonly Schema[];
  readonly $ref?: string;
  readonly 'x-kubernetes-group-version-kind'?: readonly {group: string; version: string; kind: string}[];
}

export interface OpenApi {
  readonly components?: {readonly schemas?: Readonly<Record<string, Schema>>};
}

/** The schema of a kind, with references resolved down to `depth` levels; deeper ones have no properties. */
export function schemaOf(document: OpenApi, kind: {group: string; version: string; kind: string}): Schema | undefined {
  const schemas = document.components?.schemas ?? {};
  const found = Object.values(schemas).find(schema =>
    schema['x-kubernetes-group-version-kind']?.some(
      each => each.group === kind.group && each.version === kind.version && each.kind === kind.kind,
    ),
  );
  return found && expand(found, schemas, 9);
}

function expand(schema: Schema, schemas: Readonly<Record<string, Schema>>, depth: number): Schema {
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
  const target = reference ? schemas[reference.slice(reference.lastIndexOf('/') + 1)] : schema;
  if (!target || depth === 0) return {type: schema.type ?? 'object'};
  const {properties, items, additionalProperties: values} = target;
  const deeper = (each: Schema) => expand(each, schemas, depth - 1);
  return {
    ...target,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, deeper(each)])),
    }),
    ...(items && {items: deeper(items)}),
    ...(typeof values === 'object' && {additionalProperties: deeper(values)}),
  };
}

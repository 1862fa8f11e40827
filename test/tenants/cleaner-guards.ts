import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What keeps Cleaners within the rights of their creators. */
export const cleanerGuards: readonly Guard[] = [
  ...inFile('src/tenancy/act-as.ts', [
    [
      'never reaches',
      "if (fault !== undefined) return { reason: 'Confined', message: `${describeAccess(access)}: ${fault}` }",
      '',
    ],
    [
      'does not believe a record',
      '(await this.#ports.provesCreators()) ? recordedCreator(object) : undefined',
      'recordedCreator(object)',
    ],
  ]),
]

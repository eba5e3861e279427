import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

// The workflows are read as text: two spaces a level, one job, step or permission where such a line begins.

interface Job {
  readonly name: string
  readonly text: string
  readonly permissions: Readonly<Record<string, string>>
  readonly steps: readonly string[]
}

const workflows = readdirSync('.github/workflows').map((file) => ({
  file,
  jobs: jobsOf(readFileSync(`.github/workflows/${file}`, 'utf8')),
}))
const everyJob = workflows.flatMap(({ jobs }) => jobs)
const release = new Map(
  workflows.find(({ file }) => file === 'release.yml')?.jobs.map((job) => [job.name, job]),
)

function jobsOf(workflow: string): Job[] {
  const text = workflow.replaceAll(/^ *#.*\n/gm, '')
  if (!/^permissions: \{\}$/m.test(text)) throw new Error('What a job may do is to be said by the job alone.')
  const [, jobs = ''] = text.split(/^jobs:\n/m)
  return partsOf(jobs, /^ {2}(?=[\w-]+:$)/m).map((job) => ({
    name: job.slice(0, job.indexOf(':')),
    text: job,
    permissions: permissionsOf(job),
    steps: partsOf(job.split(/^ {4}steps:\n/m)[1] ?? '', /^ {6}- /m),
  }))
}

function partsOf(text: string, start: RegExp): string[] {
  return text.split(start).filter((part) => part.trim() !== '')
}

function permissionsOf(job: string): Record<string, string> {
  const [, lines] = /^ {4}permissions:\n((?: {6}.*\n)+)/m.exec(job) ?? []
  if (lines === undefined) throw new Error(`A job says no permissions: ${job}`)
  return Object.fromEntries(
    [...lines.matchAll(/^ {6}([\w-]+): (\w+)$/gm)].map(([, name, level]) => [name, level]),
  )
}

/** Whether it runs code of packages; publishing a tarball without its scripts does not. */
function runsDependencies({ text }: Job): boolean {
  return /\bnp(?:m (?!view\b|publish\b.* --ignore-scripts\b)|x\b)|\b(?:yarn|pnpm|bunx?|deno|node)\s|node_modules|uses: \.\//.test(
    text,
  )
}

function mayWrite({ permissions }: Job): boolean {
  return Object.values(permissions).includes('write')
}

test('are read whole', () => {
  expect(everyJob.length).toBeGreaterThan(5)
  for (const { name, steps, permissions } of everyJob) {
    expect(name).toMatch(/^[\w-]+$/)
    expect(steps.length).toBeGreaterThan(0)
    expect(Object.keys(permissions)).not.toEqual([])
  }
  expect(everyJob.filter(runsDependencies).map(({ name }) => name)).toEqual(
    expect.arrayContaining(['test', 'bare-install', 'version', 'check', 'package']),
  )
})

test('a job that runs code of dependencies can only read the repository', () => {
  for (const job of everyJob.filter(runsDependencies)) {
    expect([job.name, job.permissions]).toEqual([job.name, { contents: 'read' }])
    expect(job.text).not.toMatch(/github\.token|secrets\./)
  }
})

test('a job with any other right runs no code of dependencies', () => {
  const rightful = everyJob.filter(mayWrite)
  expect(rightful.map(({ name }) => name)).toEqual(['pull-request', 'publish', 'announce', 'publish-site'])
  expect(rightful.filter(runsDependencies)).toEqual([])
})

test('no checkout leaves a token behind', () => {
  const checkouts = everyJob.flatMap(({ steps }) =>
    steps.filter((step) => step.includes('actions/checkout@')),
  )
  expect(checkouts.length).toBeGreaterThan(3)
  for (const step of checkouts) expect(step).toContain('persist-credentials: false')
})

test('every action is pinned to a commit, and says which release that is', () => {
  for (const [, action] of everyJob.flatMap(({ text }) => [...text.matchAll(/uses: (.*)$/gm)])) {
    expect(action).toMatch(/^actions\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  }
})

/** What a job lets npm do. */
function npmCommands(job: Job | undefined): string[] {
  return [...(job?.text ?? '').matchAll(/\bnpm (?:ci|run|test|pack)\b.*$/gm)].map(([command]) => command)
}

test('what is published is the tarball of the commit that was tested', () => {
  const [tested, packed, published] = ['check', 'package', 'publish'].map((name) => release.get(name))
  expect(npmCommands(tested)).toEqual(['npm ci', 'npm run check', 'npm test', 'npm run test:long'])
  expect(packed?.text).toMatch(/^ {4}needs: check$/m)
  const upload = packed?.steps.at(-1)
  expect(upload).toMatch(
    /actions\/upload-artifact@[^]*name: package\n +path: utility-api-\S* ?\S* ?\S*\.tgz\n/,
  )

  expect(published?.permissions).toEqual({ 'id-token': 'write' })
  expect(published?.text).toMatch(/^ {4}needs: package$/m)
  const uses = [...(published?.text ?? '').matchAll(/uses: actions\/([\w-]+)@/g)].map(([, action]) => action)
  expect(uses).toEqual(['setup-node', 'download-artifact'])
  expect(published?.steps[1]).toMatch(/name: package\n/)
  expect(scriptOf(published?.steps.at(-1))).toBe(
    'npm publish "./utility-api-$VERSION.tgz" --ignore-scripts --provenance --access public',
  )
})

test('no install script runs in a job that makes what is published', () => {
  expect(npmCommands(release.get('package'))).toEqual([
    'npm ci --ignore-scripts',
    'npm run build',
    'npm pack --ignore-scripts',
  ])
  expect(npmCommands(release.get('version'))).toEqual([
    'npm ci --ignore-scripts',
    'npm run changeset version',
  ])
})

test('the site of a release is published with it, from the folder that typedoc writes', () => {
  const [built, published] = ['site', 'publish-site'].map((name) => release.get(name))
  expect(built?.text).toMatch(/^ {4}needs: \[package, publish\]$/m)
  expect(npmCommands(built)[1]).toMatch(/^npm run docs -- --sourceLinkTemplate "\S+\/blob\/\S+"$/)
  const { out } = JSON.parse(readFileSync('typedoc.json', 'utf8')) as { out: string }
  expect(built?.steps.at(-1)).toMatch(
    new RegExp(`^uses: actions/upload-pages-artifact@[^]*\n +path: ${out}\n`),
  )
  expect(published?.text).toMatch(/^ {4}needs: site$/m)
  expect(published?.permissions).toEqual({ pages: 'write', 'id-token': 'write' })
})

test('CI builds every commit again at another place, and compares', () => {
  const steps = everyJob.find(({ name }) => name === 'test')?.steps ?? []
  const script = scriptOf(steps.find((step) => step.includes('git clone')))
  expect(script.trimEnd().split('\n')).toEqual([
    'git clone --quiet . "$RUNNER_TEMP/again"',
    'cd "$RUNNER_TEMP/again"',
    'npm ci --ignore-scripts',
    'npm run build',
    'diff --recursive dist "$GITHUB_WORKSPACE/dist"',
  ])
})

test("the packed package names the workflow's own repository, and no other is published", () => {
  const folder = mkdtempSync(join(tmpdir(), 'utility-api-release-'))
  try {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    copyFileSync('package.json', join(folder, 'package.json'))
    const own = { GITHUB_SERVER_URL: 'https://github.example', GITHUB_REPOSITORY: 'ada/utility' }
    const name = scriptOf(release.get('package')?.steps.find((step) => step.includes('npm pkg set')))
    const check = scriptOf(release.get('publish')?.steps.find((step) => step.includes('--to-stdout')))
    const run = (script: string, env: Record<string, string>): SpawnSyncReturns<string> =>
      spawnSync('bash', ['--norc', '-e', '-o', 'pipefail', '-c', script], {
        cwd: folder,
        env: { PATH: process.env['PATH'], HOME: folder, VERSION: version, ...env },
        encoding: 'utf8',
      })

    const unset = run(name, {})
    expect([unset.status, unset.stderr.trimEnd().split('\n')]).toEqual([
      1,
      [expect.stringContaining('Set GITHUB_SERVER_URL and GITHUB_REPOSITORY')],
    ])
    expect(run(name, own)).toMatchObject({ status: 0 })
    expect(run('npm pack --ignore-scripts', {})).toMatchObject({ status: 0 })
    const packed = run(`tar -xOf utility-api-${version}.tgz package/package.json`, {}).stdout
    expect(JSON.parse(packed).scripts).not.toHaveProperty('prepare')
    expect(JSON.parse(packed)).toMatchObject({
      repository: { type: 'git', url: 'git+https://github.example/ada/utility.git' },
      homepage: 'https://github.example/ada/utility#readme',
      bugs: { url: 'https://github.example/ada/utility/issues' },
    })

    expect(run(check, own)).toMatchObject({ status: 0, stdout: '' })
    const foreign = run(check, { ...own, GITHUB_REPOSITORY: 'grace/utility' })
    expect(foreign.status).toBe(1)
    expect(foreign.stdout).toMatch(/^::error::.*grace\/utility\.git.*\n$/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test("a release's notes are its own part of the changelog", () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  const notes = scriptOf(release.get('announce')?.steps.at(-1))
  const folder = mkdtempSync(join(tmpdir(), 'utility-api-release-'))
  const env = { PATH: process.env['PATH'], VERSION: version, RUNNER_TEMP: folder }
  const { stderr } = spawnSync('bash', ['--norc', '-c', notes.replace(/^gh .*$/m, '')], {
    env,
    encoding: 'utf8',
  })
  const text = readFileSync(join(folder, 'notes.md'), 'utf8')
  rmSync(folder, { recursive: true })
  expect(stderr).toBe('')
  expect(text.trim().length).toBeGreaterThan(20)
  expect(text).not.toMatch(/^##? /m)
  expect(readFileSync('CHANGELOG.md', 'utf8')).toContain(`\n## ${version}\n${text.trimEnd()}`)
})

/** The shell script of a step, without its indentation. */
function scriptOf(step = ''): string {
  const [, line = '', block = ''] = /^ *run: (.*)\n?([^]*)$/m.exec(step) ?? []
  return line === '|' ? block.replaceAll(/^ {10}/gm, '') : line
}

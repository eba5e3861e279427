import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, relative } from 'node:path'
import {
  Application,
  Converter,
  type DeclarationReflection,
  type DefaultThemeRenderContext,
  type DocumentReflection,
  type IndexEvent,
  JSX,
  type PageEvent,
  type ProjectReflection,
  ReflectionKind,
  Renderer,
} from 'typedoc'
import { diagrams } from './diagrams.ts'

// What the site has beside what typedoc makes: a way from page to page and to its source, tabs, pictures in the page's colors,
// and a search in which a page about a word comes before a place that mentions it.

export function load(application: Application): void {
  const { renderer, converter, options } = application
  // Not before: options that are set while plugins load are forgotten.
  application.on(Application.EVENT_BOOTSTRAP_END, () =>
    options.setValue('markdownItLoader', nameHeadingsWhole),
  )
  // Types as they are declared: else one with a name, such as RecordType, is written out as its dozen values.
  converter.on(Converter.EVENT_BEGIN, (context) => void (context.convertingTypeNode = true))
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const page of project.documents ?? [])
      if (/^[A-Z]+$/.test(page.name)) page.name = page.name.charAt(0) + page.name.slice(1).toLowerCase()
    gatherExamples(project)
  })
  renderer.hooks.on('content.end', neighbors)
  renderer.on(Renderer.EVENT_END_PAGE, (page) => {
    const contents = makeTabs(labelTables(inlineDiagrams(linkFiles(renderer, page))))
    page.contents = reachAll(describePage(keepNamesWhole(contents)))
  })
  renderer.on(Renderer.EVENT_PREPARE_INDEX, weighDocuments)
}

/** What a parser of Markdown has that is needed here. */
interface MarkdownParser {
  readonly core: {
    readonly ruler: { push(name: string, rule: (state: { readonly tokens: readonly Token[] }) => void): void }
  }
}

interface Token {
  type: string
  readonly children: readonly Token[] | null
}

/** Code in a heading is left out of its anchor and of the page's contents, unless it is text. */
function nameHeadingsWhole(parser: MarkdownParser): void {
  parser.core.ruler.push('heading_code', ({ tokens }) => {
    tokens.forEach(({ type }, at) => {
      if (type !== 'heading_open') return
      for (const token of tokens[at + 1]?.children ?? [])
        if (token.type === 'code_inline') token.type = 'text'
    })
  })
}

/** The pages in the order of the navigation. */
function pagesOf({ documents = [] }: ProjectReflection): DocumentReflection[] {
  const withChildren = (page: DocumentReflection): DocumentReflection[] => [
    page,
    ...(page.children ?? []).flatMap(withChildren),
  ]
  return documents.flatMap(withChildren)
}

/** Links to the page before, to where the page can be changed, and to the page after. */
function neighbors(context: DefaultThemeRenderContext): JSX.Element {
  const pages = pagesOf(context.page.project)
  const at = pages.indexOf(context.page.model as DocumentReflection)
  const links = [
    at > 0 && linkTo(pages[at - 1], 'prev', '← '),
    editLink(context),
    at !== -1 && linkTo(pages[at + 1], 'next', '', ' →'),
  ]
  return at === -1 ? JSX.createElement(JSX.Fragment, null) : JSX.createElement('nav', attributes, ...links)

  function linkTo(
    page: DocumentReflection | undefined,
    rel: string,
    before: string,
    after = '',
  ): JSX.Element | undefined {
    if (page === undefined) return undefined
    return JSX.createElement('a', { href: context.urlTo(page) ?? '', rel }, before, page.name, after)
  }
}

/** The source of a page, where a host lets it be edited: by the template of the links to the code. */
function editLink({ page, options }: DefaultThemeRenderContext): JSX.Element {
  const path = relative('.', page.project.files.getReflectionPath(page.model) ?? '')
  const template = options.getValue('sourceLinkTemplate').replace(/\/blob\/[^/]*/, '/edit/main')
  return JSX.createElement('a', { href: template.replace(/\{path\}.*/, path) }, 'Edit this page')
}

const attributes = { class: 'page-neighbors', 'aria-label': 'Pages' }

/** Puts the pages of the examples below the one that lists them, each named by its heading and with its programs. */
function gatherExamples(project: ProjectReflection): void {
  const pages = (project.documents ?? []).filter((page) => folderOf(page).startsWith('examples'))
  for (const page of pages) {
    const [, heading = page.name] = /^# (.*)/.exec(page.content[0]?.text ?? '') ?? []
    page.name = heading
    const list = pages[0]
    if (list === undefined || page === list) continue
    project.removeChild(page)
    page.parent = list
    list.addChild(page)
    for (const file of globSync(`${folderOf(page)}/*.{ts,js,php,py,go}`).toSorted()) {
      if (/\.(?:test|d)\.ts$/.test(file)) continue
      const language = extname(file) === '.py' ? 'python' : extname(file).slice(1)
      page.content.push(
        { kind: 'text', text: `\n\n## \`${basename(file)}\`\n\n` },
        { kind: 'code', text: `\`\`\`${language}\n${readFileSync(file, 'utf8')}\`\`\`` },
      )
    }
  }
}

/** The folder of a page's source, from the top of the repository. */
function folderOf(page: DocumentReflection): string {
  return relative('.', dirname(page.project.files.getReflectionPath(page) ?? '/'))
}

/**
 * Leads a link to a program of an example to where it stands on the example's page. Links to other files become text:
 * typedoc copies the file alone, and its own links break.
 */
function linkFiles({ router }: Renderer, { contents = '', project, url }: PageEvent): string {
  const files = project.files.getNameToAbsoluteMap()
  const pages = new Map(pagesOf(project).map((page) => [folderOf(page), page]))
  return contents.replaceAll(
    /<a href="[^"]*\bmedia\/([^"]*)">([^]*?)<\/a>/g,
    (_, name: string, text: string) => {
      const file = relative('.', files.get(name) ?? '')
      const page = pages.get(dirname(file))
      if (!file.startsWith('examples/') || page === undefined || router === undefined) return text
      const href = relative(dirname(url), router.getFullUrl(page))
      return `<a href="${href}#${basename(file)
        .replaceAll(/[^\w-]/g, '')
        .toLowerCase()}">${text}</a>`
    },
  )
}

/** Blocks of code that are named one after another become tabs, by radio buttons: those need no script. */
function makeTabs(html: string): string {
  return html.replaceAll(
    /(?:<p><strong>[^<]*<\/strong><\/p>\s*<pre>[^]*?<\/pre>\s*){2,}/g,
    (blocks, at: number) => {
      const tabs = blocks.replaceAll(
        /<p><strong>(.*)<\/strong><\/p>/g,
        `<label><input type="radio" name="tab-${at}">$1</label>`,
      )
      return `<div class="tabs">${tabs.replace('<input', '<input checked')}</div>`
    },
  )
}

/** Keys also scroll code that is wider than the page, and a screen reader finds its parts. */
function reachAll(html: string): string {
  return html
    .replaceAll('<pre><code', '<pre><code tabindex="0"')
    .replace('class="col-content"', '$& role="main"')
    .replace('class="page-menu"', '$& role="navigation" aria-label="This page"')
}

/** An image file would not know the theme that was chosen on the page. Other pictures have a background of their own. */
function inlineDiagrams(html: string): string {
  return html.replaceAll(/<img src="[^"]*\/([\w-]+\.svg)"[^>]*>/g, (image, name: string) =>
    Object.hasOwn(diagrams, name)
      ? `<span class="diagram" tabindex="0">${readFileSync(`docs/diagrams/${name}`, 'utf8')}</span>`
      : image,
  )
}

/**
 * What narrow pages need of tables: every cell says which column it is in, as cells then stand below each other, and a long
 * name may go on in the next line, or the texts beside it would have no room.
 */
function labelTables(html: string): string {
  return html.replaceAll(/<table>[^]*?<\/table>/g, (table) => {
    const labels = [...table.matchAll(/<th(?: [^>]*)?>([^]*?)<\/th>/g)].map(([, label = '']) =>
      label.replaceAll(/<.*?>/g, ''),
    )
    return table.replaceAll(/<tr>[^]*?<\/tr>/g, (row) => {
      let column = 0
      return row.replaceAll(/<td((?: [^>]*)?)>([^]*?)<\/td>/g, (_, style: string, cell: string) => {
        const label = labels[column++] ?? ''
        return `<td${style}${label === '' ? '' : ` data-label="${label}"`}>${breakLongNames(cell)}</td>`
      })
    })
  })
}

function breakLongNames(cell: string): string {
  return cell.replaceAll(/<code>([^<\s]{17,})<\/code>/g, (_, name: string) => {
    return `<code>${name.replaceAll(/(?<=[a-z])(?=[A-Z])|(?<=[._/-])(?=\w)/g, '<wbr>')}</code>`
  })
}

/** Headings in the list of a page's contents break between words: typedoc would also break SQLite after SQ. */
function keepNamesWhole(html: string): string {
  return html.replaceAll(/<a href="#[^"]*"><span>[^<]* [^]*?<\/span>/g, (link) =>
    link.replaceAll('<wbr/>', ''),
  )
}

/** A search engine and a link that is shared show the page's first paragraph, not the same words for every page. */
function describePage(html: string): string {
  const [, paragraph] = /<div class="col-content">[^]*?<p>([^]*?)<\/p>/.exec(html) ?? []
  const text = paragraph
    ?.replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('"', '&quot;')
  return text === undefined ? html : html.replace(/(?<=<meta name="description" content=")[^"]*/, () => text)
}

/**
 * How much more a page counts than an export, by its folder. A guide links to the example it comes before. The pages "From
 * another package" name it more often than the page about the thing itself.
 */
const weights: Readonly<Record<string, number>> = {
  'docs/guide/from-': 5,
  'docs/guide': 10,
  'docs/operations': 6,
  'docs/decisions': 2,
  examples: 0.1,
}

/**
 * A page about a word says so in its `keywords` or in a heading. An export that is named exactly so still comes first: the
 * search itself counts it ten times.
 */
function weighDocuments(event: IndexEvent): void {
  event.searchFieldWeights['keywords'] = 1000
  event.searchFieldWeights['headings'] = 5
  // From the last one on, as a result that is removed moves those behind it.
  for (let at = event.searchResults.length - 1; at >= 0; at -= 1) {
    const result = event.searchResults[at]
    if (result === undefined) continue
    if (!result.isDocument()) {
      if (result.inheritedFrom !== undefined) event.removeResult(at)
      // Many have the same name, and none is what a word is looked for.
      else if (isPlainProperty(result)) result.relevanceBoost = 0.3
      continue
    }
    const text = result.content.map((part) => part.text).join('')
    const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
    event.searchFields[at] = {
      headings: headings.join(' '),
      keywords: String(result.frontmatter['keywords'] ?? ''),
    }
    const path = relative('.', result.project.files.getReflectionPath(result) ?? '')
    const [, weight = 1] = Object.entries(weights).find(([start]) => path.startsWith(start)) ?? []
    result.relevanceBoost = weight
  }
}

function isPlainProperty({ kind, type }: DeclarationReflection): boolean {
  const isFunction = type?.type === 'reflection' && type.declaration.signatures !== undefined
  return kind === ReflectionKind.Property && !isFunction
}

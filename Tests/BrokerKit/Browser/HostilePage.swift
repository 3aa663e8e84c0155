/// Markup and scripts that try to break the bridge.
public enum HostilePage {
    /// A kind of element with a name. `document` resolves the name before its own members. `window` resolves it if
    /// neither the object nor its prototypes have such a member (HTML, 3.1.6 and 7.2.2.3).
    public enum Element: CaseIterable, Sendable {
        case image, form, formWithFields, frame, object, embed, anchor, twoAnchors

        func html(_ name: String, url: String) -> String {
            switch self {
            case .image: "<img name=\(name) id=\(name) src=\"\(url)\">"
            case .form: "<form name=\(name) id=\(name) action=\"\(url)\"></form>"
            case .formWithFields: "<form name=\(name) id=\(name)>\(HostilePage.fields)</form>"
            case .frame: "<iframe name=\(name) id=\(name)></iframe>"
            case .object: "<object name=\(name) id=\(name)></object>"
            case .embed: "<embed name=\(name) id=\(name)>"
            case .anchor: "<a id=\(name) name=\(name) href=\"\(url)\"></a>"
            case .twoAnchors: String(repeating: "<a id=\(name) name=\(name) href=\"\(url)\"></a>", count: 2)
            }
        }
    }

    private static let fields = ["call", "on", "messageHandlers", "document", "src"].map { "<input name=\($0)>" }
        .joined()

    /// The members that the language looks up without a script naming them.
    private static let implicit: Set = [
        "then", "toJSON", "toString", "valueOf", "constructor", "length", "hasOwnProperty", "nodeType",
    ]

    /// Returns the identifiers of a script, and the members that the language looks up. Words in comments are excluded,
    /// because each name costs a page one element of each kind.
    public static func names(in script: [UInt8]) -> Set<String> {
        let lines = String(decoding: script, as: UTF8.self).split(separator: "\n")
        let code = lines.filter { !$0.drop(while: { $0 == " " }).hasPrefix("//") }.joined(separator: "\n")
        let bare = code.replacing(/[\/][*].*?[*][\/]/, with: "")
        return implicit.union(bare.matches(of: /[A-Za-z_$][A-Za-z0-9_$]*/).map { String($0.output) })
    }

    /// Returns one element for each name.
    ///
    /// - Parameter url: The URL of the element `currentScript`. The others have an empty one: browsers load each image.
    public static func html(_ element: Element, named names: Set<String>, url: String) -> String {
        names.sorted().map { element.html($0, url: $0 == "currentScript" ? url : "data:,") }.joined()
    }

    /// A script that makes the globals and members used by bridges throw, and makes every object inherit options. After
    /// it, a value that settles a promise or is written as JSON must not be an object, because the language looks up
    /// `then` and `toJSON` on objects.
    ///
    /// The script spares what a test or an injected script needs to start: `JSON`, `Object`, `Symbol`, and the `then`
    /// of promises, for which see ``thenPollution``. A page's script must capture everything else that it uses
    /// beforehand.
    public static let pollution = """
        (() => {
          const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, hasOwn } = Object;
          const { Array, Error } = globalThis;
          const { iterator, split } = Symbol;
          const fault = () => { throw new Error('polluted'); };
          const accessor = { __proto__: null, configurable: true, get: fault, set: fault };
          const define = (object, name, value) =>
            defineProperty(object, name, { __proto__: null, configurable: true, writable: true, value });
          const spoil = (object, names) => {
            for (let index = 0; object && index < names.length; index += 1) {
              const found = getOwnPropertyDescriptor(object, names[index]);
              if (!found?.configurable) continue;
              if (hasOwn(found, 'value')) define(object, names[index], fault);
              else defineProperty(object, names[index], accessor);
            }
          };
          const spoilType = (type, names) => spoil(globalThis[type]?.prototype, names);
          spoil(getPrototypeOf(new Map().keys()), ['next']);
          spoil(getPrototypeOf(new Set().values()), ['next']);
          spoil(getPrototypeOf([].values()), ['next']);
          spoil(getPrototypeOf(Uint8Array.prototype), ['length']);
          spoilType('Map', ['get', 'set', 'has', 'delete', 'clear', 'forEach', 'size', 'keys', 'values', iterator]);
          spoilType('Set', ['add', 'has', 'delete', 'clear', 'forEach', 'size', 'keys', 'values', iterator]);
          spoilType('String', ['slice', 'split', 'indexOf', 'startsWith', 'replace', 'replaceAll', iterator]);
          spoilType('String', ['codePointAt', 'toWellFormed', 'isWellFormed', 'includes', 'endsWith']);
          define(String.prototype, split, fault);
          spoilType('RegExp', ['exec', 'test', split]);
          spoilType('Promise', ['catch', 'finally']);
          spoilType('EventTarget', ['addEventListener', 'removeEventListener', 'dispatchEvent']);
          spoilType('WebSocket', ['send', 'close']);
          spoilType('MessageEvent', ['data']);
          spoilType('CloseEvent', ['code']);
          spoilType('CustomEvent', ['detail']);
          spoilType('PromiseRejectionEvent', ['reason']);
          spoilType('Storage', ['getItem', 'setItem']);
          spoilType('History', ['state', 'replaceState']);
          spoilType('Document', ['currentScript', 'head', 'title']);
          spoilType('Element', ['getAttribute']);
          spoilType('TextEncoder', ['encode']);
          spoilType('Array', ['push', 'shift', 'at', 'slice', 'find', 'filter', 'map', 'join', 'includes', iterator]);
          spoil(Function.prototype, ['call', 'apply', 'bind']);
          spoil(globalThis, ['Array', 'Error', 'Function', 'Map', 'Math', 'Number', 'Promise', 'Proxy', 'Reflect']);
          spoil(globalThis, ['RegExp', 'Set', 'String', 'TextEncoder', 'Uint8Array', 'URL', 'WebSocket']);
          spoil(globalThis, ['CloseEvent', 'CustomEvent', 'Document', 'Element', 'EventTarget', 'History']);
          spoil(globalThis, ['HTMLScriptElement', 'MessageEvent', 'MutationObserver', 'PromiseRejectionEvent']);
          spoil(globalThis, ['Storage', 'clearTimeout', 'performance', 'queueMicrotask', 'setTimeout']);
          define(Object.prototype, 'then', fault);
          define(Object.prototype, 'toJSON', fault);
          const options = [
            'code', 'path', 'outcome', 'timer', 'timeout', 'id', 'get', 'set', 'value', 'writable', 'enumerable',
            'bubbles', 'cancelable', 'composed', 'detail', 'capture', 'once', 'passive', 'signal',
          ];
          for (let index = 0; index < options.length; index += 1) define(Object.prototype, options[index], 'polluted');
          for (let index = 0; index < 10; index += 1) defineProperty(Array.prototype, index, accessor);
        })();
        """

    /// Completes ``pollution``, except in Chromium: its debugger resolves one promise with another, and the language
    /// then looks up `then`.
    public static let thenPollution = """
        Object.getPrototypeOf((async () => {})()).then = () => { throw 'polluted'; };
        """
}

// usage: EngineBenchmark jsc COUNT SCRIPT
//        EngineBenchmark webkitgtk COUNT URL
//        EngineBenchmark browser COUNT SCRIPT        prints the URL to open
// The engine as shipped, with a supervisor and a typed plugin that replies; see page_counter.h for the figures.
import Foundation

guard CommandLine.arguments.count == 4, let count = Int(CommandLine.arguments[2]) else { exit(64) }
let place = CommandLine.arguments[3]
switch CommandLine.arguments[1] {
case "jsc": try await EngineRun(count: count, JavaScriptCorePage(script: place)).finish()
case "webkitgtk":
    #if WebKitGTK
    try await EngineRun(count: count, WebKitGTKPage(url: place)).finish()
    #else
    FileHandle.standardError.write(Data("libwebkit2gtk-4.1-dev was missing when this was built\n".utf8))
    exit(2)
    #endif
case "browser": try await EngineRun(count: count, BrowserSite(script: place)).finish()
default: exit(64)
}

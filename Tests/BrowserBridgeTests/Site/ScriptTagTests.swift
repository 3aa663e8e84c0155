import Testing

@testable import BrowserBridge

@Suite struct ScriptTagTests {
    private static let tag = #"<script src="/signalbox.js"></script>"#

    // `|` is where the tag belongs.
    @Test(arguments: [
        "|", "|text", "|<p>hi", "<!doctype html>|<p>", "<!DOCTYPE html>\n<html>\n<head>|\n<title>", "<html>|<body>",
        "<HTML LANG=en><HEAD>|<script>", "<html data-x='a>b' data-y=\"c>d\">|x", "<html data-x=a'b>|'x",
        "<head\n>|<script src=x>",
        "<!-- <head> --><head>|</head>", "<!-->|<head-x>", "<!---><head>|", "<!-- a --!><html>|",
        "<?xml version='1.0'?><html>|",
        "<head/>|", "|<header>", "<html>|<!-- never closed <head>", "<html>|<head", "|<html", "<!doctype html>|<heads>",
        "<html><!-- x -->\n<head a=\"\n\">|", "|<script>1</script><head>", "\u{FEFF}<head>|", "\u{FEFF}|x",
        "<html>|</head><head>", "  <html>  <head>|  <meta>", "|  text", "<html = \"a>|b\">",
        "<html a = \"a>b\" b=c\"d>|", "<html a/=\"b>|\">", "<head a=''b=\">\">|",
    ])
    func theTagIsTheFirstElementOfTheHead(page: String) throws {
        let expected = page.replacing("|", with: Self.tag)
        let given = Array(page.replacing("|", with: "").utf8)
        #expect(String(decoding: ScriptTag.added(to: given), as: UTF8.self) == expected)
    }

    @Test func whatIsNoPageStaysAsItIs() {
        for (type, isPage) in [
            ("text/html", true), ("Text/HTML; charset=utf-8", true), (" text/html ;x", true), ("text/htmlx", false),
            ("application/xhtml+xml", false), ("text/plain", false), ("", false), ("; text/html", false),
        ] {
            #expect(BrowserDocument(contentType: type, body: []).isPage == isPage, "\(type)")
        }
    }

    @Test func aLongPrologueTakesItsLengthAndNoMore() {
        let comments = Array(String(repeating: "<!-- x -->\n", count: 90_000).utf8)
        #expect(comments.withUnsafeBytes { HTMLPrologue($0).end } == comments.count - 1)
        let open = Array(String(repeating: "<!--", count: 250_000).utf8)
        #expect(open.withUnsafeBytes { HTMLPrologue($0).end } == 0)
    }
}

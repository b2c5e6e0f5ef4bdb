//! What a request says of itself: where it thinks it goes, and which page sent it. Pure.

use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN, UPGRADE};
use axum::http::{HeaderMap, HeaderValue, Method};

/// The addresses by which this daemon is reached. Everything else is somebody who made a name point here.
#[derive(Debug, Clone, Default)]
pub struct Addresses {
    /// `host:port` as in `Host`, in lower case.
    hosts: Vec<String>,
    /// `scheme://host:port` as in `Origin`.
    origins: Vec<String>,
}

impl Addresses {
    /// A daemon on a port that is called by these names.
    pub fn new(names: &[String], port: u16, tls: bool) -> Self {
        let scheme = if tls { "https" } else { "http" };
        let mut addresses = Self::default();
        for name in names {
            addresses.add(&format!("{scheme}://{name}:{port}"));
        }
        addresses
    }

    /// One more origin, such as that of a proxy in front.
    pub fn add(&mut self, origin: &str) {
        let origin = origin.trim_end_matches('/').to_lowercase();
        let Some((scheme, host)) = origin.split_once("://") else { return };
        let default = match scheme {
            "https" => ":443",
            _ => ":80",
        };
        // A browser leaves out the port that the scheme has anyway.
        let bare = host.strip_suffix(default).unwrap_or(host);
        for host in [host, bare] {
            self.hosts.push(host.to_owned());
            self.origins.push(format!("{scheme}://{host}"));
        }
    }

    /// The origins, without repetition.
    pub fn origins(&self) -> Vec<String> {
        let mut origins = self.origins.clone();
        origins.dedup();
        origins
    }

    fn has_host(&self, host: &str) -> bool {
        self.hosts.contains(&host.to_lowercase())
    }

    fn has_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == origin)
    }
}

/// Why a request is turned away before anybody looks who sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It thinks that it goes elsewhere: a name was made to point here.
    Host,
    /// Another page sent it.
    Origin,
    /// Another site sent it.
    Site,
    /// It writes, and is not JSON.
    ContentType,
}

impl Refused {
    /// One word, and what to do.
    pub fn say(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Host => (
                "wrong_host",
                "this daemon does not answer to the host name in the request",
                "use an address printed by `pollux serve`, or allow this name with `--name`",
            ),
            Self::Origin => {
                ("wrong_origin", "the request came from a page that this daemon did not serve", "")
            }
            Self::Site => ("wrong_site", "the request came from another site", ""),
            Self::ContentType => (
                "not_json",
                "the request body is not JSON",
                "send `Content-Type: application/json`",
            ),
        }
    }
}

/// Looks at the headers of a request that came over the network.
pub fn check(method: &Method, headers: &HeaderMap, addresses: &Addresses) -> Result<(), Refused> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("\u{0}"));
    let one_host = headers.get_all(HOST).iter().count() == 1;
    if !one_host || !text(HOST).is_some_and(|host| addresses.has_host(host)) {
        return Err(Refused::Host);
    }
    // Also `null`, which a sandboxed frame, a file and a redirect send.
    let is_other = |origin: &HeaderValue| !origin.to_str().is_ok_and(|it| addresses.has_origin(it));
    if headers.get_all(ORIGIN).iter().any(is_other) {
        return Err(Refused::Origin);
    }
    let site = headers.get("sec-fetch-site").map(|value| value.to_str().unwrap_or("\u{0}"));
    let reads = matches!(*method, Method::GET | Method::HEAD) && !headers.contains_key(UPGRADE);
    let fits = match site {
        None | Some("same-origin") => true,
        // Typed into the address bar: a page may be looked at, nothing more.
        Some("none") => reads,
        // A link from another site: the page itself may be opened. It has no cookie then.
        Some(_) => reads && headers.get("sec-fetch-dest").is_some_and(|dest| dest == "document"),
    };
    if !fits {
        return Err(Refused::Site);
    }
    let writes = !matches!(*method, Method::GET | Method::HEAD);
    let json = text(CONTENT_TYPE).is_some_and(|kind| {
        kind.split(';')
            .next()
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    });
    if writes && !json {
        return Err(Refused::ContentType);
    }
    Ok(())
}
